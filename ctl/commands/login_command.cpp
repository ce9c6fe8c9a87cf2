#include "ctl/api.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/login_file.hpp"

namespace ctl {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<int> login_command(const Options& options, terminal::Console& console) {
  Options chosen = options;
  if (!options.arguments.empty()) chosen.server = options.arguments.front();
  auto login = choose_login(chosen, login_path());
  if (!login) return std::move(login).error();
  if (login->token.empty())
    return Error(ErrorCode::invalid,
                 "which access token? opsctl login URL --token-file FILE\n"
                 "the backend keeps its first in admin.token of its data folder");
  console.redactor->add(login->token);
  auto ca = read_ca(login->ca);
  if (!ca) return std::move(ca).error();
  auto api = Api::make({.server = login->server, .token = login->token, .ca = *ca});
  if (!api) return std::move(api).error();
  // Nothing is stored that does not work.
  if (auto checked = (*api)->send({.path = "/fleet"}); !checked) {
    if (!(*api)->unreachable()) return std::move(checked).error();
    console.complain(checked.error().message());
    return kUnreachable;
  }
  if (!ca->empty()) {
    // A copy: the file that was named may go away, or be another one from another folder.
    login->ca = ca_path(login_path());
    if (auto written = write_ca(login->ca, *ca); !written) return std::move(written).error();
  }
  if (auto written = write_login(login_path(), *login); !written) return std::move(written).error();
  console.out.line("Logged in to " + login->server + "; stored in " + login_path() + ".");
  return kOk;
}

}  // namespace ctl
