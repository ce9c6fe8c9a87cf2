// AppStore: the rows of apps. See store.hpp for threads and errors.
#pragma once

#include <string_view>

#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::store {

class AppStore {
 public:
  virtual ~AppStore() = default;

  virtual base::Result<domain::Page<domain::App>> list_apps(const domain::PageRequest& page) = 0;
  virtual base::Result<domain::App> find_app(std::string_view app_id) = 0;
  // Adds it (created `now`), or sets what can be edited; its `edit` grows. The caller has checked it:
  // put_app() (apps.hpp).
  virtual base::Result<void> write_app(const domain::App& app, domain::Millis now) = 0;
};

}  // namespace backend::store
