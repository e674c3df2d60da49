-- mark_reported: a trigger on reconciliations: sales.reported says whether the sale has its final report, which is the event sale.over.
-- In      the row of the report, as it is now; called when it is added as final, and when `final` changes
-- Out     nothing: the row was written
-- Keeps   the mark, the event and the report are of one transaction, whichever version of Stampede writes the report
-- Locks   the sale row

CREATE OR REPLACE FUNCTION mark_reported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sales SET reported = NEW.final WHERE id = NEW.sale AND reported <> NEW.final;
  IF NEW.final AND current_setting('stampede.events', true) IS DISTINCT FROM 'off' THEN
    INSERT INTO events (type, sale, data) VALUES ('sale.over', NEW.sale, coalesce(NEW.summary -> 'results', '[]'));
  END IF;
  RETURN NULL;
END
$$;
