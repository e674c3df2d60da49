-- line: the waiting line of a sale. A row per join, one mark per line up to which all are let in, and when that mark was moved.
-- In      sales of 0001
-- Out     lines, line_joins, line_steps
-- Keeps   every change of a line is made under the lock of its row in lines: numbers (1, 2, 3, …) and the numbers of those who left are in the order of
--         commit, without gaps. One join of a buyer counts at a time: the index is the last line. The mark never moves back

-- salt_key: secret; each join's salt is made from it. head: of the chain over the joins. let_in: all positions up to it are let in. rate: the operator's;
-- NULL: the sale's own.
CREATE TABLE lines (
  sale     bigint PRIMARY KEY REFERENCES sales (id) ON DELETE CASCADE,
  salt_key bytea NOT NULL,
  head     bytea NOT NULL,
  numbers  int NOT NULL DEFAULT 0,
  leaves   int NOT NULL DEFAULT 0 CHECK (leaves <= numbers),
  let_in   int NOT NULL DEFAULT 0 CHECK (let_in <= numbers),
  rate     text CHECK (rate ~ '^(auto|[0-9]+(\.[0-9]+)?)$'),
  paused   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

-- left_no: set when it counts no more, because its buyer left or joined again. No reference to lines: a check for each of a hundred thousand joins would cost
-- as much as the insert.
CREATE TABLE line_joins (
  sale    bigint NOT NULL,
  number  int NOT NULL,
  buyer   text NOT NULL,
  proof   bytea NOT NULL,
  left_no int,
  PRIMARY KEY (sale, number)
);
CREATE UNIQUE INDEX line_joins_buyer ON line_joins (sale, buyer) WHERE left_no IS NULL;
CREATE UNIQUE INDEX line_joins_left ON line_joins (sale, left_no) WHERE left_no IS NOT NULL;

-- Kept as long as a time to claim that began then may last.
CREATE TABLE line_steps (
  sale   bigint NOT NULL REFERENCES lines (sale) ON DELETE CASCADE,
  let_in int NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (sale, let_in)
);
