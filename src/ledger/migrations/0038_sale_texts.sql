-- sale_texts: names of a sale and its items in the languages of the page, beside their rows: items are rewritten with every order.
-- In      sales
-- Out     sale_texts: of the sale under "sale", of its items under "items" by id
-- Keeps   a change is a change of the sale (edit_sale), so every process reads it; a process of the version before, which rewrites sales and
--         a draft's items under their ids, leaves it alone

CREATE TABLE sale_texts (
  sale  bigint PRIMARY KEY REFERENCES sales ON DELETE CASCADE,
  texts jsonb NOT NULL CHECK (jsonb_typeof(texts) = 'object')
);
