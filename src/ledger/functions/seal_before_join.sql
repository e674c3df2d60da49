-- seal_before_join: trigger function; the first join or end after seals_at seals the draw of its line, without itself.
-- In      the old row of lines
-- Out     the new row, as it is
-- Keeps   what is written after seals_at is not drawn, however late the seal is: a beacon may be known by then. The line's row is locked before the draw's

CREATE OR REPLACE FUNCTION seal_before_join() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE line_draws SET sealed_at = clock_timestamp(), joins = OLD.numbers, leaves = OLD.leaves, root = OLD.head
  WHERE sale = OLD.sale AND sealed_at IS NULL AND seals_at <= clock_timestamp();
  RETURN NEW;
END
$$;
