// The Store in one SQLite file.
#pragma once

#include <memory>
#include <string>

#include "backend/store/store.hpp"

namespace backend::store::sqlite {

// Opens the file, which a writing store makes and brings to the present schema. A read-only one needs a file
// that a writing one has opened before, and sees what is committed. Refused: a file of a newer version, or
// one that is damaged; the text says what to do.
base::Result<std::unique_ptr<Store>> open_sqlite_store(const std::string& path, Access access);

// The same, for whoever opens several.
Opener opener(std::string path);

}  // namespace backend::store::sqlite
