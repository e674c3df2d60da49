-- item_descriptions: what a buyer reads about an item, beside its row: items are rewritten with every order, and followed by every process.
-- In      nothing
-- Out     item_descriptions
-- Keeps   bound to the sale, not to the item: a process of the version before, which rewrites a draft's items under their ids, leaves the text alone

CREATE TABLE item_descriptions (
  item        bigint PRIMARY KEY,
  sale        bigint NOT NULL REFERENCES sales ON DELETE CASCADE,
  description text NOT NULL CHECK (length(description) BETWEEN 1 AND 2000)
);
CREATE INDEX item_descriptions_sale ON item_descriptions (sale);
