import type { WorkerEvents } from 'graphile-worker'
import type { Tally } from '../src/metrics/tally.ts'

/** Counts how long jobs waited and ran. They became due by the database's clock and began by this machine's. */
export const countJobs = (events: WorkerEvents, tally: Tally): void => {
  const begunAtMs = new Map<string, number>()
  events.on('job:start', ({ job }) => {
    begunAtMs.set(job.id, performance.now())
    const waitedMs = Math.max(0, Date.now() - job.run_at.getTime())
    tally.observe('job_wait_seconds', { task: job.task_identifier }, waitedMs / 1000)
  })
  events.on('job:error', ({ job }) => tally.add('job_errors_total', { task: job.task_identifier }))
  events.on('job:complete', ({ job }) => {
    const begun = begunAtMs.get(job.id)
    begunAtMs.delete(job.id)
    if (begun === undefined) return
    tally.observe('job_duration_seconds', { task: job.task_identifier }, (performance.now() - begun) / 1000)
  })
}
