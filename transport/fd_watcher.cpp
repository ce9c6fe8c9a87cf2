#include "transport/fd_watcher.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace transport {

struct FdWatcher::Impl {
  Impl(asio::any_io_executor executor, int fd) : descriptor(executor, fd), timer(executor) {}
  ~Impl() { descriptor.release(); }

  asio::posix::stream_descriptor descriptor;
  asio::steady_timer timer;
};

FdWatcher::FdWatcher(asio::any_io_executor executor, int fd)
    : impl_(std::make_shared<Impl>(std::move(executor), fd)) {}

FdWatcher::~FdWatcher() {
  cancel();
}

Task<bool> FdWatcher::readable() {
  const std::shared_ptr<Impl> impl = impl_;
  const auto [failed] = co_await impl->descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                                             asio::as_tuple(asio::use_awaitable));
  co_return !failed;
}

Task<bool> FdWatcher::readable_for(std::chrono::milliseconds time) {
  const std::shared_ptr<Impl> impl = impl_;
  impl->timer.expires_after(time);
  impl->timer.async_wait([impl](const boost::system::error_code& failed) {
    if (!failed) impl->descriptor.cancel();
  });
  const bool is_readable = co_await readable();
  impl->timer.cancel();
  co_return is_readable;
}

void FdWatcher::cancel() {
  boost::system::error_code ignored;
  impl_->descriptor.cancel(ignored);
  impl_->timer.cancel();
}

}  // namespace transport
