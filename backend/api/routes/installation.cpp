#include "backend/api/installation.hpp"

#include "backend/api/context.hpp"
#include "backend/api/reply.hpp"
#include "backend/api/route.hpp"
#include "backend/domain/access/instants.hpp"

namespace backend::api {

namespace installation_resource {

namespace {

Task<HttpResponse> show(Context& context, const Call&) {
  const Installation now = context.installation();
  base::JsonText json;
  json.begin_object().member("version", now.version).key("listeners").begin_list();
  for (const Listener& listener : now.listeners)
    json.begin_object()
        .member("address", listener.address)
        .member("tls", listener.is_tls)
        .member("loopback", listener.is_loopback)
        .end_object();
  json.end_list().key("authority");
  if (now.has_authority) {
    json.begin_object().member("brought", now.authority_is_brought);
    domain::add_instant(json, "expires", now.authority_expires);
    json.end_object();
  } else {
    json.null();
  }
  json.member("allow_v1", now.allows_v1).member("certificate_life_s", now.certificate_life_s);
  json.member("releases", now.serves_releases);
  co_return json_reply(kOk, json.end_object());
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/installation",
     .summary = "Listeners, authority and what is allowed, for those who check them",
     .role = Role::admin,
     .handler = show,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace installation_resource

std::span<const Route> installation_routes() {
  return installation_resource::kRoutes;
}

}  // namespace backend::api
