#include "tests/support/golden.h"

#include <bit>
#include <cstdlib>

namespace halograph {
namespace {

TestGraphSpec ReadGraph(const Json& graph) {
  TestGraphSpec spec{.name = "golden", .parts = graph.at("parts")};
  for (const Json& type : graph.at("node_types")) {
    spec.node_types.push_back({.name = type.at("name"), .owners = type.at("owners")});
  }
  for (const Json& relation : graph.at("relations")) {
    spec.relations.push_back({.source = relation.at("source"),
                              .name = relation.at("name"),
                              .destination = relation.at("destination"),
                              .edges = relation.at("edges")});
    if (!relation.contains("weights")) continue;
    std::vector<double> weights;
    for (const Json& bits : relation.at("weights")) {
      weights.push_back(std::bit_cast<double>(FromHex(bits)));
    }
    spec.relations.back().features = {MakeTensor("w", weights)};
    spec.relations.back().features[0].spec.sampling = true;
  }
  return spec;
}

Minibatch ReadMinibatch(const Json& value) {
  Minibatch minibatch;
  for (const Json& layer : value.at("layers")) {
    SampledLayer& sampled = minibatch.layers.emplace_back();
    for (const Json& block : layer.at("blocks")) {
      sampled.blocks.push_back({.relation = block.at("relation"),
                                .indptr = block.at("indptr"),
                                .indices = block.at("indices")});
      Block& read = sampled.blocks.back();
      if (block.contains("edge_ids"))
        read.edge_ids = block.at("edge_ids").get<std::vector<int64_t>>();
      for (const Json& bits : block.value("weights", Json::array())) {
        read.weights.push_back(std::bit_cast<float>(static_cast<uint32_t>(FromHex(bits))));
      }
      for (const Json& bits : block.value("coefficients", Json::array())) {
        read.coefficients.push_back(std::bit_cast<float>(static_cast<uint32_t>(FromHex(bits))));
      }
      for (const Json& bits : block.value("degrees", Json::array())) {
        read.degrees.push_back(std::bit_cast<float>(static_cast<uint32_t>(FromHex(bits))));
      }
    }
    sampled.num_destinations = layer.at("num_destinations").get<std::vector<int64_t>>();
    sampled.num_sources = layer.at("num_sources").get<std::vector<int64_t>>();
  }
  minibatch.nodes = value.at("nodes").get<std::vector<std::vector<int64_t>>>();
  const Json& positions = value.at("seed_positions");  // of the only list, or of each
  if (!positions.empty() && positions.front().is_array()) {
    minibatch.seed_positions = positions.get<std::vector<std::vector<int32_t>>>();
  } else {
    minibatch.seed_positions = {positions.get<std::vector<int32_t>>()};
  }
  minibatch.sampled_edges = value.at("sampled_edges");
  return minibatch;
}

std::vector<GoldenMinibatch::Seeds> ReadSeeds(const Json& value, const Schema& schema) {
  const auto type = [&](const Json& name) {
    return *schema.NodeTypeIndex(name.get<std::string>());
  };
  const Json& seeds = value.at("seeds");
  if (value.contains("seed_type")) {
    return {{.type = type(value.at("seed_type")), .ids = seeds.get<std::vector<int64_t>>()}};
  }
  std::vector<GoldenMinibatch::Seeds> lists;
  for (const Json& list : seeds) {
    lists.push_back({.type = type(list.at("type")), .ids = list.at("ids")});
  }
  return lists;
}

GoldenMinibatch ReadCase(const Json& value, const Schema& schema) {
  GoldenMinibatch golden;
  golden.name = value.at("name");
  golden.seeds = ReadSeeds(value, schema);
  for (const Json& column : value.value("columns", Json::array())) {
    (column == "edge_ids" ? golden.edge_ids : golden.weights) = true;
  }
  for (const Json& edges : value.value("exclude", Json::array())) {
    golden.exclude.push_back(
        {.relation = *schema.RelationIndex(edges.at("relation").get<std::string>()),
         .sources = edges.at("sources"),
         .destinations = edges.at("destinations")});
  }
  for (const Json& layer : value.at("layers")) {
    auto& fanouts = golden.spec.layers.emplace_back();
    for (const Json& entry : layer) {
      fanouts.push_back(Neighbors(*schema.RelationIndex(entry.at("relation").get<std::string>()),
                                  entry.at("fanout"), value.at("replace")));
      if (value.value("sampler", "neighbor") == "labor") {
        fanouts.back().rule.kind = DrawKind::kLabor;
        fanouts.back().rule.one_key = value.at("one_key");
      }
    }
  }
  golden.source_degrees = value.value("source_degrees", false);
  golden.batch_seed = FromHex(value.at("batch_seed"));
  golden.expected = ReadMinibatch(value.at("expected"));
  return golden;
}

}  // namespace

SampleRequest GoldenMinibatch::request() const {
  SampleRequest request{.seeds = {},
                        .batch_seed = batch_seed,
                        .spec = &spec,
                        .exclude = {},
                        .edge_ids = edge_ids,
                        .weights = weights,
                        .source_degrees = source_degrees};
  for (const Seeds& list : seeds) request.seeds.push_back({.type = list.type, .ids = list.ids});
  for (const Exclusion& edges : exclude) {
    request.exclude.push_back(
        {.relation = edges.relation, .sources = edges.sources, .destinations = edges.destinations});
  }
  return request;
}

uint64_t FromHex(const Json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

StatusOr<GoldenSampling> LoadGoldenSampling(const std::string& name) {
  const char* const folder = std::getenv("HALOGRAPH_TEST_DATA");
  if (folder == nullptr) return NotFound("HALOGRAPH_TEST_DATA is not set: run by ctest");
  GoldenSampling golden;
  HG_ASSIGN_OR_RETURN(golden.raw, ReadJsonFile(std::filesystem::path(folder) / "sampling" / name));
  golden.spec = ReadGraph(golden.raw.at("graph"));
  const Schema schema = TestSchema(golden.spec);
  const bool weighted = golden.raw.at("graph").at("relations").at(0).contains("weights");
  for (const Json& value : golden.raw.at("minibatches")) {
    golden.minibatches.push_back(ReadCase(value, schema));
    if (!value.value("weighted", weighted)) continue;
    HG_RETURN_IF_ERROR(golden.minibatches.back().spec.DrawBy(schema, "w"));
  }
  return golden;
}

}  // namespace halograph
