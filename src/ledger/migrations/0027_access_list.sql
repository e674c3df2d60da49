-- access_list: whom operators let in or keep out, whatever else is true.
-- In      nothing
-- Out     access_list; access_revision: one row, raised by every change
-- Keeps   one entry per kind, subject and value. A change of the list and its revision are one statement, so a reader of both misses none

CREATE TABLE access_list (
  id      bigint PRIMARY KEY,
  kind    text NOT NULL CHECK (kind IN ('deny', 'allow')),
  subject text NOT NULL CHECK (subject IN ('address', 'prefix', 'buyer', 'claim')),
  value   text NOT NULL,
  until   timestamptz,
  reason  text,
  by      text NOT NULL,
  at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (kind, subject, value)
);

CREATE TABLE access_revision (one boolean PRIMARY KEY DEFAULT true CHECK (one), no bigint NOT NULL);
INSERT INTO access_revision (no) VALUES (1);
