-- Times are RFC 3339 UTC with milliseconds, so that they sort as text. Amounts are whole numbers of 10^-3 in decimal text.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE objects (
  uid TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  resource_version INTEGER NOT NULL,
  json TEXT NOT NULL,
  UNIQUE (kind, project, name)
) WITHOUT ROWID;

-- AUTOINCREMENT: a number is never given twice, also after old rows are gone.
CREATE TABLE feed (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  deleted INTEGER NOT NULL,
  kind TEXT NOT NULL,
  uid TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  json TEXT NOT NULL
);

CREATE TABLE bindings (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  cluster TEXT NOT NULL,
  version INTEGER NOT NULL,
  json TEXT NOT NULL,
  UNIQUE (project, cluster)
) WITHOUT ROWID;

CREATE TABLE workloads (
  uid TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  arrival INTEGER NOT NULL UNIQUE,
  phase TEXT NOT NULL,
  binding_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX workloads_by_phase ON workloads (phase, project, arrival);

-- Rows stay for ever; a released one never changes again. An attempt that a cluster refused may reserve a second time, so
-- only living rows are unique.
CREATE TABLE reservations (
  id INTEGER PRIMARY KEY,
  workload_uid TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  binding_id TEXT NOT NULL,
  pool TEXT NOT NULL,
  resource TEXT NOT NULL,
  milli TEXT NOT NULL,
  format INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2))
);
CREATE UNIQUE INDEX reservations_living ON reservations (workload_uid, attempt, resource) WHERE state <> 2;
CREATE INDEX reservations_of_binding ON reservations (binding_id) WHERE state <> 2;
CREATE INDEX reservations_of_workload ON reservations (workload_uid);

CREATE TABLE sent_marks (
  workload_uid TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  cluster TEXT NOT NULL,
  cluster_identity TEXT NOT NULL,
  namespace_uid TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (workload_uid, attempt)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  key TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  body_sha256 TEXT NOT NULL,
  status INTEGER NOT NULL,
  answer TEXT NOT NULL,
  object_uid TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (principal, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at);

-- No gap and no change is possible without breaking the chain of hashes.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  principal TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  request_id TEXT NOT NULL,
  before TEXT NOT NULL,
  after TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL
);

CREATE TABLE name_claims (
  kind TEXT NOT NULL,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  uid TEXT NOT NULL,
  freed TEXT,
  PRIMARY KEY (kind, project, name)
) WITHOUT ROWID;

CREATE TABLE users (
  name TEXT PRIMARY KEY,
  display_name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  admin INTEGER NOT NULL,
  disabled INTEGER NOT NULL,
  created TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
  id_hash TEXT PRIMARY KEY,
  user TEXT NOT NULL REFERENCES users (name),
  host TEXT NOT NULL,
  parent_hash TEXT NOT NULL,
  created TEXT NOT NULL,
  expires TEXT NOT NULL,
  last_seen TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user);
CREATE INDEX sessions_of_parent ON sessions (parent_hash);
CREATE INDEX sessions_by_expiry ON sessions (expires);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  user TEXT NOT NULL REFERENCES users (name),
  label TEXT NOT NULL,
  scope TEXT NOT NULL,
  created TEXT NOT NULL,
  expires TEXT,
  last_used TEXT
) WITHOUT ROWID;
CREATE INDEX tokens_of_user ON tokens (user);

CREATE TABLE one_time (
  hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  user TEXT NOT NULL,
  host TEXT NOT NULL,
  data TEXT NOT NULL,
  expires TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX one_time_by_expiry ON one_time (expires);

CREATE TABLE blobs (
  digest TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  bytes BLOB NOT NULL,
  at TEXT NOT NULL
);

CREATE TABLE kept_logs (
  workload_uid TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  path TEXT NOT NULL,
  text TEXT NOT NULL,
  ended TEXT NOT NULL,
  PRIMARY KEY (workload_uid, attempt)
);
