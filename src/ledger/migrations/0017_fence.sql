-- fence: which rows of items and sales have changed since a reader last looked.
-- In      the tables of 0001 and 0010
-- Out     items.changed_in, sales.changed_in (the transaction that last changed the row), sales.warm_at (when the warm-up begins), and the
--         triggers that write them, whichever version of the program changes the row
-- Keeps   E2: a change is committed together with the id of its transaction. A reader keeps the snapshot of its last read; a row whose
--         transaction was not visible in it is new. No order of commits is needed, and no lock beyond the row's own
--         An update of available alone fires no trigger and touches no index

ALTER TABLE items ADD COLUMN changed_in xid8 NOT NULL DEFAULT '0';
ALTER TABLE sales ADD COLUMN changed_in xid8 NOT NULL DEFAULT '0', ADD COLUMN warm_at timestamptz;

CREATE FUNCTION note_item_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  RETURN NEW;
END
$$;

CREATE FUNCTION note_sale_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  NEW.warm_at := NEW.opens_at - NEW.warm_before_ms * interval '1 millisecond';
  RETURN NEW;
END
$$;

-- Every column that a process keeps of an item, without available.
CREATE TRIGGER item_changed BEFORE INSERT OR UPDATE OF sale, position, sku, name, image, price_minor, list_price_minor, currency, units,
  quantity_max, attempts_max, pay_within_ms, when_gate_down, home_door, shards, door, epoch, gate_epoch, gate_shards, change_no, changed_in
  ON items FOR EACH ROW EXECUTE FUNCTION note_item_change();
CREATE TRIGGER sale_changed BEFORE INSERT OR UPDATE OF name, opens_at, closes_at, warm_before_ms, state, word_no, rule, changed_in, warm_at
  ON sales FOR EACH ROW EXECUTE FUNCTION note_sale_change();
-- Also for rows that come by replication.
ALTER TABLE items ENABLE ALWAYS TRIGGER item_changed;
ALTER TABLE sales ENABLE ALWAYS TRIGGER sale_changed;

-- Sales whose warm-up has begun are read as a whole by a process that starts; the others are found when it begins.
UPDATE sales SET warm_at = opens_at WHERE opens_at > clock_timestamp();

CREATE INDEX items_changed ON items (changed_in);
CREATE INDEX sales_changed ON sales (changed_in);
CREATE INDEX sales_warm ON sales (warm_at);
