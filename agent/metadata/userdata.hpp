// What our own userdata script says of itself: lines of the form name='value' between "# opsagent settings"
// and
// "# end of settings". It is read, never executed.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace agent::metadata {

// Of userdata without such a block the app is taken that the original's script has (APP_ID, beside WS_URI);
// nothing else of that means anything here.
//
// Nothing when there is neither. A line that is not of that form, or a block without an end, spoils the
// whole: half of what somebody meant is not what they meant.
std::map<std::string, std::string> userdata_settings(std::string_view userdata);

}  // namespace agent::metadata
