-- note_item_change: trigger function; an item's row carries the transaction that last changed it (available excepted).
-- In      the new row
-- Out     the new row with changed_in
-- Keeps   E2: the id is that of the whole transaction, also in a savepoint, so that a reader can tell from its last snapshot whether it saw it

CREATE OR REPLACE FUNCTION note_item_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  RETURN NEW;
END
$$;
