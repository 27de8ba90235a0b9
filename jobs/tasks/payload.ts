import { Value } from '@sinclair/typebox/value'
import { JOB_PAYLOADS, type JobName, type JobPayload } from '../../db/jobs.ts'

/** @throws Error if a payload does not match its task's schema: a bug of ours, which the queue's error shows. */
export const parsePayload = <Name extends JobName>(name: Name, payload: unknown): JobPayload<Name> => {
  const schema = JOB_PAYLOADS[name]
  if (!Value.Check(schema, payload)) throw new Error(`the payload of a ${name} job is malformed`)
  return payload as JobPayload<Name>
}
