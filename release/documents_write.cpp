// The layout of documents: exactly one text for each value.
#include "release/document_text.hpp"
#include "release/documents.hpp"

namespace release {

namespace {

// All texts in documents are words, hashes, paths and base64: none needs an escape.
std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string member(std::string_view name, std::string_view text) {
  return in_quotes(name) + ": " + in_quotes(text);
}

std::string member(std::string_view name, std::uint64_t number) {
  return in_quotes(name) + ": " + std::to_string(number);
}

class Layout {
 public:
  explicit Layout(std::string_view type) { line(member("type", type)); }

  void line(const std::string& text) {
    text_ += first_ ? "  " : ",\n  ";
    text_ += text;
    first_ = false;
  }

  template <class Items, class Write>
  void list(std::string_view name, const Items& items, Write write) {
    line(in_quotes(name) + ": [\n");
    std::size_t left = items.size();
    for (const auto& item : items)
      text_ += "    {" + write(item) + (--left == 0 ? "}\n" : "},\n");
    text_ += "  ]";
  }

  std::string take() && { return "{\n" + std::move(text_) + "\n}\n"; }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace

std::string write(const Root& root) {
  Layout layout("root");
  layout.line(member("product", root.product));
  layout.line(member("version", root.version));
  layout.line(member("expires", to_text(root.expires)));
  layout.list("keys", root.keys, [](const PublicKey& key) {
    return member("id", key.id()) + ", " + member("public", key.text());
  });
  layout.list("roles", root.roles, [](const RoleKeys& role) {
    std::string ids;
    for (const std::string& id : role.keys)
      ids += (ids.empty() ? "" : ", ") + in_quotes(id);
    return member("role", name_of(role.role)) + ", " + member("threshold", role.threshold) + ", \"keys\": [" +
           ids + "]";
  });
  return std::move(layout).take();
}

std::string write(const Release& release) {
  Layout layout("release");
  layout.line(member("product", release.product));
  layout.line(member("channel", release.channel));
  layout.line(member("version", release.version));
  layout.line(member("release", release.number));
  layout.line(member("min_from", release.min_from));
  layout.line(member("expires", to_text(release.expires)));
  layout.list("targets", release.targets, [](const Target& target) {
    return member("os", target.os) + ", " + member("arch", target.arch) + ", " + member("size", target.size) +
           ", " + member("sha256", target.sha256) + ", " + member("path", target.path);
  });
  return std::move(layout).take();
}

std::string write(const Timestamp& timestamp) {
  Layout layout("timestamp");
  layout.line(member("product", timestamp.product));
  layout.line(member("version", timestamp.version));
  layout.line(member("expires", to_text(timestamp.expires)));
  layout.list("offers", timestamp.offers, [](const Offer& offer) {
    return member("channel", offer.channel) + ", " + member("version", offer.version) + ", " +
           member("release", offer.number) + ", " + member("sha256", offer.sha256) + ", " +
           member("path", offer.path);
  });
  return std::move(layout).take();
}

}  // namespace release
