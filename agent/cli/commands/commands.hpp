// The commands of `opsagent`. Each answers the exit status of the process.
#pragma once

#include "agent/cli/options/options.hpp"
#include "states/context.hpp"
#include "terminal/console.hpp"
#include "transport/client/proxies.hpp"

namespace agent::cli {

// From the options and the environment.
transport::ProxySettings proxy_settings(const Options& options);
states::DownloadSettings download_settings(const Options& options);

inline constexpr int kOk = 0;
inline constexpr int kFailure = 1;

int plan_command(const Options& options, terminal::Console& console);
int apply_command(const Options& options, terminal::Console& console);
int validate_command(const Options& options, terminal::Console& console);
int lint_command(const Options& options, terminal::Console& console);
int fmt_command(const Options& options, terminal::Console& console);
int schema_command(const Options& options, terminal::Console& console);
int states_command(const Options& options, terminal::Console& console);
int run_command(const Options& options, terminal::Console& console);
int module_list_command(const Options& options, terminal::Console& console);
int module_show_command(const Options& options, terminal::Console& console);
int module_new_command(const Options& options, terminal::Console& console);
int module_test_command(const Options& options, terminal::Console& console);
int once_list_command(const Options& options, terminal::Console& console);
int once_forget_command(const Options& options, terminal::Console& console);
int status_command(const Options& options, terminal::Console& console);
// stop, stop-wait, stop-end, restart, restart-wait, restart-end
int stop_command(const Options& options, terminal::Console& console);
int hold_command(const Options& options, terminal::Console& console);
int run_now_command(const Options& options, terminal::Console& console);
int doctor_command(const Options& options, terminal::Console& console);
int completion_command(const Options& options, terminal::Console& console);
int version_command(const Options& options, terminal::Console& console);
int install_command(const Options& options, terminal::Console& console);
int migrate_command(const Options& options, terminal::Console& console);
int uninstall_command(const Options& options, terminal::Console& console);
int clean_command(const Options& options, terminal::Console& console);
int module_fetch_command(const Options& options, terminal::Console& console);
int self_test_command(const Options& options, terminal::Console& console);

// Runs the command that the options name.
int run_chosen_command(const Options& options, terminal::Console& console);

// The whole program: what argv asks for, from parsing to exit status.
int run_program(int argc, const char* const* argv);

}  // namespace agent::cli
