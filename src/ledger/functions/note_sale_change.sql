-- note_sale_change: trigger function; a sale's row carries the transaction that last changed it, and when its warm-up begins.
-- In      the new row
-- Out     the new row with changed_in and warm_at
-- Keeps   E2: as note_item_change; warm_at is always what opens_at and warm_before_ms say

CREATE OR REPLACE FUNCTION note_sale_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_in := pg_current_xact_id();
  NEW.warm_at := NEW.opens_at - NEW.warm_before_ms * interval '1 millisecond';
  RETURN NEW;
END
$$;
