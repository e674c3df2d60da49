-- images: pictures that operators uploaded, by the hash of their bytes: every process serves them, and a backup holds them.
-- In      nothing
-- Out     images
-- Keeps   a row never changes under its name. Processes of the version before know nothing of it

CREATE TABLE images (
  name     text PRIMARY KEY CHECK (name ~ '^[0-9a-f]{64}\.[a-z]{3,4}$'),
  size     integer NOT NULL CHECK (size = length(bytes)),
  bytes    bytea NOT NULL,
  by       text NOT NULL,
  added_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- They are compressed already.
ALTER TABLE images ALTER COLUMN bytes SET STORAGE EXTERNAL;
