// Turns: what waits, by who asked for it. Each asker has a queue of its own, and one after the other has its
// turn, so that who asks for much waits for its own and not the others for it. Not for several threads.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

namespace backend::store {

template <class T>
class Turns {
 public:
  void push(const std::string& asker, T item) {
    std::deque<T>& queue = waiting_[asker];
    if (queue.empty()) order_.push_back(asker);
    queue.push_back(std::move(item));
    ++size_;
  }

  // The first of the asker whose turn it is. Not when it is empty.
  T pop() {
    std::string asker = std::move(order_.front());
    order_.pop_front();
    const auto found = waiting_.find(asker);
    T item = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty())
      waiting_.erase(found);
    else
      order_.push_back(std::move(asker));
    --size_;
    return item;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  std::unordered_map<std::string, std::deque<T>> waiting_;  // without empty ones
  std::deque<std::string> order_;                           // each of them once
  std::size_t size_ = 0;
};

}  // namespace backend::store
