// How a message is described: each struct has one function `fields(visitor, message)` that shows every field
// to the visitor, with its name on the wire and its rule. The reader and the writer are both such visitors,
// so they cannot disagree. Only the codec includes this.
//
// A visitor has:
//   field(name, member, rule)                 text, number, bool, Json, list, map, nested struct, optional of
//   these
//   text_or_null(name, member, null, rule)    a text; null when it is empty and `null` says so
//   name(name, member, rule)                  the name of a machine or an app: problem_of_name()
//   id(name, member, rule)                    of a run, an action, a message: problem_of_id()
//   tags(name, member, rule)                  keys are names, values are as ids
//   state_id(member, rule)                    a state's id, under each of its spellings
//   state_id_of_list(member)                  the same in a WaitList, which has a spelling of its own
//   version(name, member, rule)               recipe_version: at least 1
//   version_or_none(name, member, rule)       the same, or 0: of no recipe
//   choice(name, member, words, rule)         an enum or bool, by its word: a list in braces, or an array
//   json_list(name, member, rule)             Json that must be a list
//   holds(name, member, rule)                 a list of MachineHold: at most kMostHolds
//   variables(name, member, rule)             Json: an object of at most kLargestVariables bytes
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace protocol {

struct Rule {
  bool required = false;  // reading fails without it
  bool always = false;    // written even if empty: then as null, "" or 0
  int since = 1;          // written to peers of this version only
};
inline constexpr Rule kRequired{.required = true, .always = true};
inline constexpr Rule kAlways{.always = true};
inline constexpr Rule kOptional{};
// Fields that version 2 adds to a message of version 1.
inline constexpr Rule kAdded{.since = 2};
inline constexpr Rule kAddedAlways{.always = true, .since = 2};

// A message's code, and the version that brought it.
struct Wire {
  std::string_view code;
  int since = 2;
  std::string_view code_in_1 = {};  // to peers of version 1; "": the same
};
template <class Message>
inline constexpr Wire kWire{};

// M is T or const T: fields are described once for reading and writing.
template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

}  // namespace protocol
