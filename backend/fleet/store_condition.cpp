#include "backend/fleet/store_condition.hpp"

namespace backend::fleet {

namespace {

bool is_of_the_disk(base::ErrorCode code) {
  return code == base::ErrorCode::no_space || code == base::ErrorCode::io ||
         code == base::ErrorCode::read_only;
}

}  // namespace

void StoreCondition::failed(const std::string& what, const base::Error& error) {
  if (!is_of_the_disk(error.code())) {
    log_.error(what + ": " + error.message());
    return;
  }
  const bool is_news = why_.empty();
  why_ = error.code() == base::ErrorCode::no_space ? "the disk of the data folder is full: " + error.message()
                                                   : "the data folder cannot be written: " + error.message();
  if (!is_news) return;
  refused_ = 0;
  log_.error(why_ + ". Reports are refused until there is room; agents keep them and send them again");
}

void StoreCondition::works() {
  if (why_.empty()) return;
  why_.clear();
  log_.info("the data folder can be written again; " + std::to_string(refused_) +
            " reports were refused meanwhile, and come again");
  refused_ = 0;
}

}  // namespace backend::fleet
