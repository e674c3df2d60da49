-- note_payment_change: a trigger on payments: what buyers see of a payment is numbered by its changes.
-- In      the row before and as it will be; called when its state, its code or its last decline changes
-- Out     the row, with one more change
-- Keeps   of two views of an order with the same version, the one with more changes is newer, whichever version of Stampede made them
-- Locks   nothing

CREATE OR REPLACE FUNCTION note_payment_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changes := OLD.changes + 1;
  RETURN NEW;
END
$$;
