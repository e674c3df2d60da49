-- sale_terms: what a sale asks of buyers before they may try.
-- In      sales of 0001, the trigger sale_changed of 0017
-- Out     sales.terms: an object, {} for nothing: ticketsBeforeMs, challenge ("auto" or a number). Further terms are further members
-- Keeps   E2: a change of terms is a change of the sale, so every process reads it. Processes of the version before leave it as it is

ALTER TABLE sales ADD COLUMN terms jsonb NOT NULL DEFAULT '{}';

DROP TRIGGER sale_changed ON sales;
CREATE TRIGGER sale_changed BEFORE INSERT OR UPDATE OF name, opens_at, closes_at, warm_before_ms, state, word_no, rule, terms, changed_in, warm_at
  ON sales FOR EACH ROW EXECUTE FUNCTION note_sale_change();
ALTER TABLE sales ENABLE ALWAYS TRIGGER sale_changed;
