#include "common/http/http_server.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <microhttpd.h>
#include <strings.h>
#include <sys/socket.h>

#include "common/base/host_name.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/printable.h"
#include "common/http/http_access.h"
#include "common/http/listen_socket.h"

namespace halograph {
namespace {

constexpr int kBacklog = 4096;  // connections that the system keeps while the server has no room
constexpr size_t kLongestTarget = 4096;
constexpr std::array<std::pair<const char*, const char*>, 5> kHeaders = {
    {{"Cache-Control", "no-store"},
     {"X-Content-Type-Options", "nosniff"},
     {"Content-Security-Policy", kContentSecurityPolicy},
     {"Referrer-Policy", "no-referrer"},
     {"Connection", "close"}}};

std::string PagesOf(const std::vector<HttpRoute>& routes) {
  std::string pages;
  for (const HttpRoute& route : routes) pages += (pages.empty() ? "" : ", ") + route.path;
  return pages;
}

// Of the query, what the page tells apart.
void KeepFlags(const std::vector<std::string>& flags, HttpRequest* request) {
  std::vector<std::pair<std::string, std::string>> kept;
  for (const std::string& flag : flags) {
    if (request->Has(flag)) kept.emplace_back(flag, "");
  }
  request->query = std::move(kept);
}

bool HasBody(MHD_Connection* connection) {
  const char* const length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (length != nullptr && std::string_view(length) != "0") ||
         MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                     MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
}

HttpCaller CallerOf(MHD_Connection* connection) {
  HttpCaller caller;
  const auto collect = [](void* to, MHD_ValueKind, const char* name, const char* value) noexcept {
    auto* const found = static_cast<HttpCaller*>(to);
    const std::string_view text = value == nullptr ? "" : value;
    try {
      if (strcasecmp(name, "host") == 0) found->hosts.emplace_back(text);
      if (strcasecmp(name, "authorization") == 0) found->authorizations.emplace_back(text);
    } catch (const std::exception&) {
      return MHD_NO;
    }
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, collect, &caller);
  char* password = nullptr;
  char* const user = MHD_basic_auth_get_username_password(connection, &password);
  if (password != nullptr) caller.password = password;
  if (user != nullptr) MHD_free(user);
  if (password != nullptr) MHD_free(password);
  return caller;
}

HttpReply ServiceEnds() { return HttpText(503, "the program ends"); }

// Gives the reply to the connection, which keeps it until it is read.
MHD_Result Send(MHD_Connection* connection, const PageWorker::Reply& reply) {
  auto held = std::make_unique<PageWorker::Reply>(reply);
  const std::string_view body = reply->body();
  MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
      body.size(), const_cast<char*>(body.data()),
      [](void* given) { delete static_cast<PageWorker::Reply*>(given); }, held.get());
  if (response == nullptr) return MHD_NO;
  static_cast<void>(held.release());
  bool whole = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                       reply->content_type.c_str()) == MHD_YES;
  for (const auto& [name, value] : kHeaders) {
    whole = whole && MHD_add_response_header(response, name, value) == MHD_YES;
  }
  for (const auto& [name, value] : reply->headers) {
    whole = whole && MHD_add_response_header(response, name.c_str(), value.c_str()) == MHD_YES;
  }
  const MHD_Result queued =
      whole ? MHD_queue_response(connection, static_cast<unsigned>(reply->status), response)
            : MHD_NO;
  MHD_destroy_response(response);
  return queued;
}

void LogOfLibrary(void*, const char* format, va_list arguments) noexcept {
  std::array<char, 512> text{};
  const int length = vsnprintf(text.data(), text.size(), format, arguments);
  if (length > 0) spdlog::debug("libmicrohttpd: {}", Printable(text.data(), kMessageShown));
}

}  // namespace

struct HttpServer::Call {
  MHD_Connection* connection;
  std::string target;  // as it was sent
  bool begun = false;  // its head was looked at
  HttpRequest request;
  PageWorker::Reply reply;
};

struct HttpServer::Daemon {
  ~Daemon() {
    if (handle != nullptr) MHD_stop_daemon(handle);
  }
  MHD_Daemon* handle = nullptr;
};

// No exception leaves them: there is C above.
struct HttpServer::Callbacks {
  static void* OnTarget(void*, const char* target, MHD_Connection* connection) noexcept {
    try {
      return new Call{connection, target, false, {}, nullptr};
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  static MHD_Result OnRequest(void* server, MHD_Connection*, const char*, const char* method,
                              const char*, const char*, size_t*, void** given) noexcept {
    auto* const call = static_cast<Call*>(*given);
    if (call == nullptr) return MHD_NO;  // there was no memory for it
    try {
      return Answer(*static_cast<HttpServer*>(server), *call, method);
    } catch (const std::exception&) {
      return MHD_NO;
    }
  }

  // The library asks once when it has the head of a request, and again when it has the body, of
  // which there is none here; and once more when a page was made apart.
  static MHD_Result Answer(HttpServer& server, Call& call, std::string_view method) {
    if (call.reply == nullptr && !call.begun) {
      call.begun = true;
      std::optional<HttpReply> refused = RefuseForm(call, method);
      if (!refused.has_value()) return MHD_YES;
      call.reply = server.Keep(*std::move(refused));
    }
    if (call.reply == nullptr) {
      const HttpRoute* apart = nullptr;
      call.reply = server.Decide(call, &apart);
      if (apart != nullptr) return MakeApart(server, call, *apart);
    }
    return Send(call.connection, call.reply);
  }

  static std::optional<HttpReply> RefuseForm(const Call& call, std::string_view method) {
    if (call.target.size() > kLongestTarget) {
      return HttpText(414, fmt::format("the address has {} bytes, of {} at most",
                                       call.target.size(), kLongestTarget));
    }
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
      HttpReply reply =
          HttpText(405, "only GET and HEAD are answered: nothing can be changed here");
      reply.headers = {{"Allow", "GET, HEAD"}};
      return reply;
    }
    if (HasBody(call.connection)) return HttpText(400, "the request has a body: send none");
    return std::nullopt;
  }

  static MHD_Result MakeApart(HttpServer& server, Call& call, const HttpRoute& route) {
    std::string key = route.path;
    for (const auto& [flag, value] : call.request.query) key += "?" + flag;
    // Other requests of the same key get what is made of this one, which may have ended by then.
    auto make = [&server, &route, request = call.request] { return server.Make(route, request); };
    auto done = [&call, end = server.Keep(ServiceEnds())](const PageWorker::Reply& reply) {
      call.reply = reply == nullptr ? end : reply;
      MHD_resume_connection(call.connection);  // which calls Answer again
    };
    MHD_suspend_connection(call.connection);  // first: it may be done before Submit returns
    if (!server.worker_.Submit(std::move(key), std::move(make), done)) done(nullptr);
    return MHD_YES;
  }

  static void OnEnd(void*, MHD_Connection*, void** given, MHD_RequestTerminationCode) noexcept {
    delete static_cast<Call*>(*given);
    *given = nullptr;
  }

  // The library closes a socket after it has said so: what the sweep shuts is never another's.
  static void OnConnection(void* server, MHD_Connection* connection, void**,
                           MHD_ConnectionNotificationCode what) noexcept {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    ConnectionSweep& sweep = static_cast<HttpServer*>(server)->sweep_;
    try {
      if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        sweep.Add(info->connect_fd);
      } else {
        sweep.Remove(info->connect_fd);
      }
    } catch (const std::exception&) {
      shutdown(info->connect_fd, SHUT_RDWR);  // no memory to follow it
    }
  }
};

HttpServer::HttpServer(std::vector<HttpRoute> routes, HttpBounds bounds)
    : routes_(std::move(routes)),
      bounds_(std::move(bounds)),
      sweep_(bounds_.sweep,
             [this](size_t connections) {
               return 4 * connections >= 3 * static_cast<size_t>(bounds_.connections) ||
                      2 * reply_bytes_->load() >= bounds_.reply_bytes;
             }),
      daemon_(std::make_unique<Daemon>()) {}

HttpServer::~HttpServer() {
  address_file_.reset();
  worker_.Stop();  // the library must not stop while requests wait for it
  daemon_.reset();
}

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options,
                                                        std::vector<HttpRoute> routes,
                                                        HttpBounds bounds) {
  HG_RETURN_IF_ERROR(options.Validate());
  if (options.listen.empty()) return nullptr;
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(routes), std::move(bounds)));
  HG_RETURN_IF_ERROR(server->Begin(options));
  return server;
}

Status HttpServer::Begin(const HttpOptions& options) {
  if (!options.token_file.empty()) {
    StatusOr<std::string> token = bounds_.token.read(options.token_file);
    if (!token.ok()) return Annotate(token.status(), "--http-token-file");
    token_ = std::make_unique<TokenFile>(options.token_file, *std::move(token), bounds_.token);
  }
  const StatusOr<HostPort> wanted = ParseHostPort(options.listen);
  if (!wanted.ok()) return Annotate(wanted.status(), "--http-listen");
  const StatusOr<ListenSocket> listening = Listen(*wanted, kBacklog);
  if (!listening.ok()) return Annotate(listening.status(), "--http-listen");
  at_loopback_ = listening->at_loopback;
  address_ = ToString(listening->address);
  const std::string name = HostName();
  called_ = IsWildcard(listening->address.host) && ParseHost(name).ok()
                ? ToString(HostPort{name, listening->address.port})
                : address_;
  HG_RETURN_IF_ERROR(StartDaemon(listening->fd));
  StatusOr<std::unique_ptr<AddressFile>> file = AddressFile::Write(options.address_file, called_);
  if (!file.ok()) return Annotate(file.status(), "--http-address-file");
  address_file_ = *std::move(file);
  spdlog::info("HTTP port at {}: {}{}", address_, PagesOf(routes_),
               token_ != nullptr ? "; some want the token of --http-token-file"
               : at_loopback_    ? ""
                                 : "; without --http-token-file not all of them");
  return OkStatus();
}

Status HttpServer::StartDaemon(int fd) {
  daemon_->handle = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr,
      nullptr, &Callbacks::OnRequest, this,                                        //
      MHD_OPTION_EXTERNAL_LOGGER, &LogOfLibrary, nullptr,                          //
      MHD_OPTION_LISTEN_SOCKET, fd,                                                //
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(bounds_.connections),     //
      MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(bounds_.idle.count()),  //
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, bounds_.header_bytes,                    //
      MHD_OPTION_STRICT_FOR_CLIENT, 1,                                             //
      MHD_OPTION_URI_LOG_CALLBACK, &Callbacks::OnTarget, this,                     //
      MHD_OPTION_NOTIFY_COMPLETED, &Callbacks::OnEnd, this,                        //
      MHD_OPTION_NOTIFY_CONNECTION, &Callbacks::OnConnection, this, MHD_OPTION_END);
  if (daemon_->handle != nullptr) return OkStatus();
  // The library may have closed the descriptor, and may not: it stays, as the program ends with
  // this.
  return ResourceExhausted("--http-listen {}: the server could not start: no thread or memory",
                           address_);
}

PageWorker::Reply HttpServer::Decide(Call& call, const HttpRoute** apart) {
  const size_t question = std::min(call.target.find('?'), call.target.size());
  call.request.path = call.target.substr(0, question);
  if (question < call.target.size()) {
    call.request.query = ParseQuery(std::string_view(call.target).substr(question + 1));
  }
  const auto route = std::find_if(routes_.begin(), routes_.end(), [&](const HttpRoute& one) {
    return one.path == call.request.path;
  });
  const HttpRoute* const found = route == routes_.end() ? nullptr : &*route;
  std::optional<HttpReply> refused = Refuse(call, found);
  if (refused.has_value()) return Keep(*std::move(refused));
  KeepFlags(found->query_flags, &call.request);
  if (found->work == HttpWork::kAtOnce) return Make(*found, call.request);
  if (reply_bytes_->load() >= bounds_.reply_bytes) {
    HttpReply busy = HttpText(503, "replies that others do not read take too much memory");
    busy.headers = {{"Retry-After", "1"}};
    return Keep(std::move(busy));
  }
  *apart = found;
  return nullptr;
}

std::optional<HttpReply> HttpServer::Refuse(const Call& call, const HttpRoute* route) {
  const HttpCaller caller = CallerOf(call.connection);
  if (std::optional<HttpReply> refused = RefuseCaller(caller, at_loopback_)) return refused;
  const bool guarded = route != nullptr && route->access == HttpAccess::kGuarded;
  std::optional<std::string> token;
  if (token_ != nullptr && (guarded || !call.request.query.empty())) token = token_->Token();
  if (std::optional<HttpReply> refused =
          RefuseTokenInQuery(call.request, token.has_value() ? *token : "")) {
    return refused;
  }
  if (route == nullptr) {
    return HttpText(404, fmt::format("there is no page {}; there are {}",
                                     Printable(call.request.path, kNameShown), PagesOf(routes_)));
  }
  return guarded ? RefuseGuarded(caller, route->path, at_loopback_, token) : std::nullopt;
}

PageWorker::Reply HttpServer::Make(const HttpRoute& route, const HttpRequest& request) {
  std::string why;
  try {
    return Keep(route.handler(request));
  } catch (const std::exception& error) {
    why = Printable(error.what(), kMessageShown);
  } catch (...) {
    why = "an exception of no known type";
  }
  WarnOfFailure(route.path, why);
  return Keep(HttpText(500, fmt::format("{} cannot be made: {}", route.path, why)));
}

PageWorker::Reply HttpServer::Keep(HttpReply reply) {
  const auto bytes = static_cast<int64_t>(reply.text.size());
  const auto forget = [all = reply_bytes_, bytes](const HttpReply* kept) {
    all->fetch_sub(bytes);
    delete kept;
  };
  reply_bytes_->fetch_add(bytes);
  return PageWorker::Reply(new HttpReply(std::move(reply)), forget);
}

void HttpServer::WarnOfFailure(const std::string& path, const std::string& why) {
  const MutexLock lock(mutex_);
  const std::string failure = fmt::format("HTTP page {}: {}", path, why);
  if (failure == last_failure_) return;
  last_failure_ = failure;
  spdlog::warn("{}", failure);
}

}  // namespace halograph
