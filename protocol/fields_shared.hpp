// The fields of what both sides say, and of what messages are made of.
#pragma once

#include "protocol/field_rules.hpp"
#include "protocol/messages.hpp"

namespace protocol {

template <class Visitor>
void fields(Visitor& v, Is<Envelope> auto& m) {
  v.id("mid", m.mid, kAdded);
  v.id("re", m.re, kAdded);
  v.field("ts", m.ts, kAdded);
  v.field("valid_until", m.valid_until, kAdded);
}

template <class Visitor>
void fields(Visitor& v, Is<Change> auto& m) {
  v.field("what", m.what, kRequired);
  v.field("before", m.before, kOptional);
  v.field("after", m.after, kOptional);
  v.field("diff", m.diff, kOptional);
}

template <>
inline constexpr Wire kWire<Ack>{"Ack"};
template <class Visitor>
void fields(Visitor& v, Is<Ack> auto& m) {
  v.field("ack_seq", m.ack_seq, kOptional);
  v.id("history", m.history, kOptional);
}

template <>
inline constexpr Wire kWire<Nack>{"Nack"};
template <class Visitor>
void fields(Visitor& v, Is<Nack> auto& m) {
  v.field("error", m.error, kRequired);
  v.field("retryable", m.retryable, kAlways);
}

template <>
inline constexpr Wire kWire<Goodbye>{"Goodbye"};
template <class Visitor>
void fields(Visitor& v, Is<Goodbye> auto& m) {
  v.field("reason", m.reason, kAlways);
  v.field("retry_after_ms", m.retry_after_ms, kOptional);
  v.field("alternatives", m.alternatives, kOptional);
}

}  // namespace protocol
