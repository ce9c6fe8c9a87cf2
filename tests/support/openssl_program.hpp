// openssl(1) as an independent judge of what we make, and as the maker of what people bring.
#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tests {

class OpensslProgram {
 public:
  OpensslProgram() { scratch_.write("cnf", "[req]\ndistinguished_name = dn\nprompt = no\n[dn]\n"); }

  const ScratchFolder& folder() const { return scratch_; }

  // In the folder. Answers what it printed.
  base::Completed run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "openssl");
    base::Command command;
    command.argv = std::move(arguments);
    command.env = base::clean_environment();
    command.cwd = scratch_.path();
    auto completed = base::run(command);
    REQUIRE(completed);
    return std::move(*completed);
  }
  std::string must(std::vector<std::string> arguments) const {
    const auto completed = run(std::move(arguments));
    REQUIRE_MESSAGE(completed.ok(), completed.output);
    return completed.output;
  }

  // NAME.key, by the arguments of genpkey.
  void key(const std::string& name, std::vector<std::string> kind) const {
    kind.insert(kind.begin(), {"genpkey", "-quiet", "-out", name + ".key"});
    must(std::move(kind));
  }
  void p256_key(const std::string& name, const std::string& curve = "P-256") const {
    key(name, {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:" + curve});
  }
  // NAME.csr, of NAME.key.
  std::string request(const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"req", "-new", "-config", "cnf", "-subj", "/CN=" + name, "-key", name + ".key",
                               "-out", name + ".csr"});
    must(std::move(more));
    return scratch_.read(name + ".csr");
  }
  // NAME.crt, of NAME.key, with these extensions, signed by ISSUER or by itself.
  std::string certificate(const std::string& name, const std::vector<std::string>& extensions,
                          const std::string& issuer = {}, std::vector<std::string> more = {}) const {
    std::string text = "[ext]\n";
    for (const std::string& extension : extensions)
      text += extension + "\n";
    scratch_.write("ext", text);
    request(name);
    std::vector<std::string> arguments{"x509",     "-req",        "-in",         name + ".csr",
                                       "-out",     name + ".crt", "-days",       "30",
                                       "-extfile", "ext",         "-extensions", "ext"};
    if (issuer.empty())
      arguments.insert(arguments.end(), {"-signkey", name + ".key"});
    else
      arguments.insert(arguments.end(),
                       {"-CA", issuer + ".crt", "-CAkey", issuer + ".key", "-CAcreateserial"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    must(std::move(arguments));
    return scratch_.read(name + ".crt");
  }

 private:
  const ScratchFolder scratch_;
};

}  // namespace tests
