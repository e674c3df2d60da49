-- word_no: an operator's moves of a sale are numbered.
-- In      the tables of 0001
-- Out     sales.word_no
-- Keeps   it only goes up, with every change of state or window, in the same update. A process of an older version does not count: two
--         words with one number are told in the order they come

ALTER TABLE sales ADD COLUMN word_no bigint NOT NULL DEFAULT 0;
