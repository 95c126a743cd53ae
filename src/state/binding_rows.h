// A binding in the store's rows. A project's object holds all its bindings; the rows are what admission
// reads.
#pragma once

#include "base/result.h"
#include "model/objects.h"
#include "storage/store.h"

namespace cubeplane::state {

Result<model::Binding> ParseBinding(const storage::BindingRow& row);

// Makes the rows say what the project says; a changed one gets the next version. kConflict when a binding
// that is taken away still has reservations.
Result<void> SaveBindings(storage::Txn& txn, const model::Project& project);

}  // namespace cubeplane::state
