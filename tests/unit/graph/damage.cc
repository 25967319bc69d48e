#include "tests/unit/graph/damage.h"

#include <fstream>

#include <gtest/gtest.h>

#include "common/storage/npy.h"

namespace halograph {
namespace {

void Overwrite(const std::filesystem::path& file, int64_t offset, const void* data, size_t size) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(offset);
  stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  ASSERT_TRUE(stream.good()) << file;
}

}  // namespace

void FlipByte(const std::filesystem::path& file, int64_t offset) {
  std::ifstream stream(file, std::ios::binary);
  if (offset < 0) offset += static_cast<int64_t>(std::filesystem::file_size(file));
  stream.seekg(offset);
  char byte = 0;
  ASSERT_TRUE(stream.get(byte)) << file;
  ++byte;
  Overwrite(file, offset, &byte, 1);
}

void Truncate(const std::filesystem::path& file, int64_t bytes_cut) {
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - bytes_cut);
}

template <typename T>
void SetElement(const std::filesystem::path& file, int64_t index, T value) {
  const auto array = NpyArray::Open(file);
  ASSERT_TRUE(array.ok()) << array.status();
  ASSERT_EQ(array->dtype(), DTypeOf<T>());
  ASSERT_LT(index, array->rows() * array->cols());
  const auto start = static_cast<int64_t>(array->data().data() - array->file().bytes().data());
  Overwrite(file, start + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}
template void SetElement<int64_t>(const std::filesystem::path&, int64_t, int64_t);
template void SetElement<uint32_t>(const std::filesystem::path&, int64_t, uint32_t);

void EditManifest(const std::filesystem::path& folder, const std::function<void(Json*)>& edit) {
  auto value = ReadManifest(folder / "manifest.json");
  ASSERT_TRUE(value.ok()) << value.status();
  edit(&*value);
  const Status written = WriteManifest(folder / "manifest.json", *std::move(value));
  ASSERT_TRUE(written.ok()) << written;
}

void Reseal(const std::filesystem::path& part_folder) {
  EditManifest(part_folder, [&](Json* value) {
    for (Json& file : value->at("files")) {
      const auto entry = ChecksumFile(part_folder, file.at("path"));
      ASSERT_TRUE(entry.ok()) << entry.status();
      file = ToJson(*entry);
    }
  });
}

}  // namespace halograph
