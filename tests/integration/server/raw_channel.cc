#include "tests/integration/server/raw_channel.h"

#include <climits>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

namespace halograph::server {
namespace {

constexpr auto kDeadline = std::chrono::minutes(1);

std::string Text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

grpc::ByteBuffer Buffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

void Next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

RawReply RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                 const std::string& request,
                 const std::multimap<std::string, std::string>& metadata) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
  const auto call = stub.PrepareUnaryCall(&context, method, Buffer(request), &queue);
  call->StartCall();
  RawReply reply;
  grpc::ByteBuffer bytes;
  call->Finish(&bytes, &reply.status, nullptr);
  Next(queue);
  if (reply.status.ok()) reply.bytes = Text(bytes);
  for (const auto& [key, value] : context.GetServerTrailingMetadata()) {
    reply.trailers[std::string(key.data(), key.size())] = std::string(value.data(), value.size());
  }
  return reply;
}

RawReply RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                   const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  Next(queue);
  call->Write(Buffer(request), nullptr);
  Next(queue);
  RawReply reply;
  grpc::ByteBuffer bytes;
  call->Read(&bytes, nullptr);
  Next(queue);
  reply.bytes = Text(bytes);
  call->WritesDone(nullptr);
  Next(queue);
  call->Finish(&reply.status, nullptr);
  Next(queue);
  return reply;
}

}  // namespace halograph::server
