-- ask_counts: how requests for orders were answered, by sale and process.
-- In      the tables of 0001
-- Out     ask_counts
-- Keeps   each process writes its own rows only, and always what it has counted in all: written twice is written once. One row for each sale
--         and process that was asked for it, for as long as the sale is kept

CREATE TABLE ask_counts (
  sale     bigint NOT NULL REFERENCES sales (id) ON DELETE CASCADE,
  process  text NOT NULL,
  since    timestamptz NOT NULL,
  asked    bigint NOT NULL CHECK (asked >= 0),
  limited  bigint NOT NULL CHECK (limited >= 0),
  sold_out bigint NOT NULL CHECK (sold_out >= 0),
  refused  bigint NOT NULL CHECK (refused >= 0),
  PRIMARY KEY (sale, process)
) WITH (fillfactor = 50);
