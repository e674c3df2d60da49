-- provider_counts: how payment providers answered, as each process has counted it.
-- In      nothing
-- Out     provider_counts
-- Keeps   one row for each process and provider, of processes that have counted something within a day

CREATE TABLE provider_counts (
  process  text NOT NULL,
  provider text NOT NULL,
  counts   jsonb NOT NULL,
  saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (process, provider)
);
CREATE INDEX provider_counts_saved ON provider_counts (saved_at);
