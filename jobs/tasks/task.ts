import { Value } from '@sinclair/typebox/value'
import type { Task } from 'graphile-worker'
import { JOB_PAYLOADS, type JobName, type JobPayload } from '../../db/jobs.ts'

/**
 * A task that checks its payload before it runs. The signal is aborted when the worker stops.
 * @throws Error if a payload does not match its task's schema: a bug of ours, which the queue's error shows.
 */
export const taskOf =
  <Name extends JobName>(name: Name, run: (payload: JobPayload<Name>, signal: AbortSignal) => Promise<unknown>): Task =>
  async (payload, { abortSignal = new AbortController().signal }) => {
    if (!Value.Check(JOB_PAYLOADS[name], payload)) throw new Error(`the payload of a ${name} job is malformed`)
    await run(payload as JobPayload<Name>, abortSignal)
  }
