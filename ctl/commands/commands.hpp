// The commands of `opsctl`. Each answers the exit status of the process.
#pragma once

#include "ctl/options.hpp"

namespace ctl {

base::Result<int> login_command(const Options& options, terminal::Console& console);
base::Result<int> ready_command(const Options& options, terminal::Console& console);
base::Result<int> app_list_command(Session& session);
base::Result<int> app_create_command(Session& session);
base::Result<int> app_show_command(Session& session);
base::Result<int> agents_command(Session& session);
base::Result<int> agent_show_command(Session& session);
base::Result<int> agent_tag_command(Session& session);
base::Result<int> agent_forget_command(Session& session);
base::Result<int> agent_revoke_command(Session& session);
base::Result<int> agent_pending_command(Session& session);
base::Result<int> agent_approve_command(Session& session);
base::Result<int> agent_expect_command(Session& session);
base::Result<int> agent_exclude_command(Session& session);
base::Result<int> agent_include_command(Session& session);
base::Result<int> agent_pause_command(Session& session);
base::Result<int> agent_resume_command(Session& session);
base::Result<int> agent_run_now_command(Session& session);
base::Result<int> token_create_command(Session& session);
base::Result<int> token_list_command(Session& session);
base::Result<int> token_revoke_command(Session& session);
base::Result<int> join_token_create_command(Session& session);
base::Result<int> join_token_list_command(Session& session);
base::Result<int> join_token_revoke_command(Session& session);
base::Result<int> ca_status_command(Session& session);
base::Result<int> ca_rotate_command(Session& session);
base::Result<int> ca_retire_command(Session& session);
base::Result<int> settings_command(Session& session);
base::Result<int> recipe_push_command(Session& session);
base::Result<int> recipe_rollback_command(Session& session);
base::Result<int> recipe_list_command(Session& session);
base::Result<int> recipe_show_command(Session& session);
base::Result<int> recipe_diff_command(Session& session);
base::Result<int> recipe_owner_command(Session& session);
base::Result<int> module_list_command(Session& session);
base::Result<int> module_show_command(Session& session);
base::Result<int> assign_list_command(Session& session);
base::Result<int> assign_create_command(Session& session);
base::Result<int> assign_edit_command(Session& session);
base::Result<int> assign_remove_command(Session& session);
base::Result<int> apply_command(Session& session);
base::Result<int> var_set_command(Session& session);
base::Result<int> var_unset_command(Session& session);
base::Result<int> var_get_command(Session& session);
base::Result<int> var_list_command(Session& session);
base::Result<int> var_history_command(Session& session);
base::Result<int> var_explain_command(Session& session);
base::Result<int> recipe_vars_command(Session& session);
base::Result<int> plan_command(Session& session);
base::Result<int> run_command(Session& session);
base::Result<int> cancel_command(Session& session);
base::Result<int> query_command(Session& session);
base::Result<int> watch_command(Session& session);
base::Result<int> results_command(Session& session);
base::Result<int> rounds_command(Session& session);
base::Result<int> waits_command(Session& session);
base::Result<int> update_command(Session& session);
base::Result<int> rollout_list_command(Session& session);
base::Result<int> rollout_show_command(Session& session);
base::Result<int> rollout_pause_command(Session& session);
base::Result<int> rollout_resume_command(Session& session);
base::Result<int> rollout_exclude_command(Session& session);
base::Result<int> rollout_abort_command(Session& session);
base::Result<int> audit_command(Session& session);
// Its exit statuses are its own: 0 nothing found, 2 something, 1 it could not be checked.
int doctor_run(const terminal::CommandLine& line, terminal::Console& console);
base::Result<int> top_command(Session& session);
base::Result<int> userdata_command(const Options& options, terminal::Console& console);
base::Result<int> trial_command(Session& session);
base::Result<int> completion_command(const Options& options, terminal::Console& console);
base::Result<int> help_command(const Options& options, terminal::Console& console);
base::Result<int> version_command(const Options& options, terminal::Console& console);

base::Result<int> release_key_command(const Options& options, terminal::Console& console);
base::Result<int> release_root_command(const Options& options, terminal::Console& console);
base::Result<int> release_sign_command(const Options& options, terminal::Console& console);
base::Result<int> release_publish_command(const Options& options, terminal::Console& console);
base::Result<int> release_timestamp_command(const Options& options, terminal::Console& console);
base::Result<int> release_withdraw_command(const Options& options, terminal::Console& console);
base::Result<int> release_list_command(const Options& options, terminal::Console& console);
base::Result<int> release_check_command(const Options& options, terminal::Console& console);

// docs/opsctl.md.
std::string reference_page();

// How rows run them: with a server, or without. An error is shown with what the user can do about it.
int run_with_server(base::Result<int> (*command)(Session&), const Options& options,
                    terminal::Console& console);
int run_local(base::Result<int> (*command)(const Options&, terminal::Console&), const Options& options,
              terminal::Console& console);

template <auto Command>
int with_server(const terminal::CommandLine& line, terminal::Console& console) {
  return run_with_server(Command, static_cast<const Options&>(line), console);
}
template <auto Command>
int local(const terminal::CommandLine& line, terminal::Console& console) {
  return run_local(Command, static_cast<const Options&>(line), console);
}

// The whole program: what argv asks for, from parsing to exit status.
int run_program(int argc, const char* const* argv);

}  // namespace ctl
