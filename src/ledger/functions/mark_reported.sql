-- mark_reported: a trigger on reconciliations: sales.reported says whether the sale has its final report.
-- In      the row of the report, as it is now; called when it is added as final, and when `final` changes
-- Out     nothing: the row was written
-- Keeps   the mark and the report are of one transaction, whichever version of Stampede writes the report
-- Locks   the sale row

CREATE OR REPLACE FUNCTION mark_reported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sales SET reported = NEW.final WHERE id = NEW.sale AND reported <> NEW.final;
  RETURN NULL;
END
$$;
