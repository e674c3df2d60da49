-- note_paid: a trigger on orders: an order that is paid leaves an event.
-- In      the row as it is now; called when pending becomes paid
-- Out     nothing: the row was written
-- Keeps   the event is of the same transaction, whichever statement of whichever version of Stampede pays the order
-- Locks   nothing

CREATE OR REPLACE FUNCTION note_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_events('order.paid', ARRAY[NEW.item], ARRAY[NEW.id], coalesce(NEW.paid_at, clock_timestamp()));
  RETURN NULL;
END
$$;
