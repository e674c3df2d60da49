/** The last result of reconciliation, and the kept reports. */

import { useEffect, useState } from 'preact/hooks'
import { get } from '../../api.ts'
import { formatCount, formatTime } from '../../format.ts'
import type { Reports, Watch } from '../../shapes.ts'
import { words } from '../../words.ts'

type KeptReport = Reports['reports'][number]

export function Reconciliation({ sale, last }: { readonly sale: string; readonly last: Watch['reconciled'] }) {
  const text = words()
  const [reports, setReports] = useState<readonly KeptReport[]>([])
  useEffect(() => {
    void get<Reports>(`/api/admin/sales/${sale}/reports`).then(reply => {
      if (reply.kind === 'ok') setReports(reply.body.reports)
    })
  }, [sale, last?.at])
  return (
    <section class="card reconciliation" aria-labelledby="reconciliation">
      <h2 id="reconciliation">{text.reconciliation}</h2>
      {last === null ? (
        <p class="soft">{text.neverReconciled}</p>
      ) : (
        <p data-reconciled={last.differences}>
          <strong class={last.differences === 0 ? 'agrees' : 'refused'}>
            {last.differences === 0 ? `✓ ${text.reconciledClean}` : resultOf(last.differences, last.repairs)}
          </strong>{' '}
          <time class="soft" dateTime={last.at}>
            {formatTime(last.at)}
          </time>
        </p>
      )}
      {reports.length > 0 && (
        <details>
          <summary>
            {text.keptReports} ({formatCount(reports.length)})
          </summary>
          <ul class="reports">
            {reports.map(report => (
              <li key={report.at}>
                <time dateTime={report.at}>{formatTime(report.at)}</time>{' '}
                {report.differences.length === 0
                  ? text.reconciledClean
                  : resultOf(report.differences.length, report.repairs.length)}
                {report.final && ` · ${text.finalReport}`}
                {[...report.differences, ...report.repairs].map((found, i) => (
                  <code key={`${i}${found.kind}`}>{JSON.stringify(found)}</code>
                ))}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

function resultOf(differences: number, repairs: number): string {
  return words().reconciledFound(formatCount(differences), formatCount(repairs))
}
