import { describe, expect, test } from 'bun:test'
import { addJob } from '../../db/jobs.ts'
import { exitCodeOf } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { network, startOperatorWorld } from './operator-world.ts'

const jobOf = async (key: string) => {
  const [row] = await world.sql`select id, state, attempts from strongroom_views.jobs where key = ${key}`
  return row
}

const world = await shared(startOperatorWorld())
const transactionId = await world.send(await world.wallet())
for (const task of ['track_blocks', 'index_blocks'] as const) {
  await addJob(world.service.ctx.db, task, { network }, { key: `${task}:${network}` })
}
await world.startWorker({ ETHEREUM_RPC_URL: '' })
await world.until(
  () => world.sql`select from strongroom_views.jobs where state = 'failing'`,
  (rows) => rows.length === 3,
)
await world.stopWorkers()
/** Its worker tried to send without a node of the network. */
const jobId = (await jobOf(`broadcast:${transactionId}`))?.id

describe('jobs list', () => {
  test('shows each job with its subject and its last error, but no payload', async () => {
    const jobs = await world.cliJson('jobs', 'list', '--failed')
    expect(jobs.length).toBe(3)
    const job = jobs.find((each: { transaction_id: string }) => each.transaction_id === transactionId)
    expect(job).toMatchObject({
      ...{ id: jobId, task: 'broadcast_transaction', state: 'failing', attempts: 1, max_attempts: 25, network },
      ...{ project_id: world.service.project.projectId, nonce: 0, transaction_status: 'submitted' },
      last_error: 'Ethereum is not served by this deployment.',
    })
    expect(Object.keys(job)).not.toContain('payload')
    const all = await world.cliJson('jobs', 'list')
    expect(all.length).toBeGreaterThan(3)
    expect(all.map((each: { run_at: string }) => each.run_at)).toEqual(
      all.map((each: { run_at: string }) => each.run_at).toSorted(),
    )
  })

  test('filters by task, and prints a table for people', async () => {
    const { output } = await world.cli('jobs', 'list', '--task', 'track_blocks')
    const [head, job, ...rest] = output.trimEnd().split('\n')
    expect(head?.split(/ +/)).toEqual(['ID', 'TASK', 'STATE', 'DUE', 'ATTEMPTS', 'ABOUT', 'ERROR'])
    expect(job).toMatch(
      /^\d+ +track_blocks {2}failing {2}\d{4}-\S+Z {2}1 of 25 +Ethereum {2}Ethereum is not served by this deployment\.$/,
    )
    expect(rest).toEqual([])
    expect((await world.cli('jobs', 'list', '--task', 'clean_logins', '--failed')).output).toBe('No such job.\n')
  })

  test('shows, for a transaction that waits, that the job that follows it failed', async () => {
    await world.sql`update transactions set broadcast_at = now(), status = 'pending' where id = ${transactionId}`
    await world.sql`update ladders set accepted_at[1] = now() where transaction_id = ${transactionId}`
    await world.sql`insert into followed_networks (network, confirmations, climb_after_seconds, expire_after_seconds, stalled_after_seconds)
      values (${network}, 1, 3, 20, 10)`
    expect((await world.whyOf(transactionId)).why).toEndWith(
      '; the follower of Ethereum failed: Ethereum is not served by this deployment.',
    )
    await world.sql`update transactions set broadcast_at = null, status = 'submitted' where id = ${transactionId}`
    await world.sql`update ladders set accepted_at[1] = null where transaction_id = ${transactionId}`
  })
})

describe('jobs retry', () => {
  test('refuses bad arguments with one sentence', async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [['1000000'], 'There is no job with this id; jobs that succeeded are deleted.'],
      [['0'], 'It must be the number of a job.'],
      [[], 'name either a job or --failed.'],
      [['1', '--failed'], 'name either a job or --failed.'],
      [['1', '--task', 'reconcile'], '--task needs --failed.'],
      [['--failed', '--task', 'dance'], 'It must be one of broadcast_transaction, '],
    ]
    const answers = await Promise.all(wrong.map(([args]) => world.cli('jobs', 'retry', ...args)))
    for (const [index, [args, sentence]] of wrong.entries()) {
      const { exitCode, output, errors = '' } = answers[index] ?? {}
      expect({ args, exitCode, output }).toEqual({ args, exitCode: exitCodeOf(errors), output: '' })
      expect(errors).toContain(sentence)
      expect(errors.trim().split('\n')).toHaveLength(1)
    }
  })

  test('does not touch a running job', async () => {
    await world.sql`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'somebody' where id = ${jobId}`
    const { exitCode, errors } = await world.cli('jobs', 'retry', jobId)
    expect({ exitCode, errors }).toMatchObject({ exitCode: 1, errors: expect.stringContaining('is running this job') })
    await world.sql`update graphile_worker._private_jobs set locked_at = null, locked_by = null where id = ${jobId}`
    expect([...(await world.sql`select from audit where action = 'job_retried'`)]).toEqual([])
  })

  test('runs a job again as if it had never failed, even one that was given up, and audits it in its project', async () => {
    await world.sql`update graphile_worker._private_jobs set attempts = max_attempts where id = ${jobId}`
    expect((await jobOf(`broadcast:${transactionId}`))?.state).toBe('given_up')
    const { output } = await world.cli('jobs', 'retry', jobId)
    expect(output).toBe(`Job ${jobId} (broadcast_transaction) runs again now, if a worker runs.\n`)
    expect(await jobOf(`broadcast:${transactionId}`)).toEqual({ id: jobId, state: 'due', attempts: 0 })
    const acts = await world.sql`select project_id, actor, subject, details from audit where action = 'job_retried'`
    expect([...acts]).toEqual([
      {
        ...{ project_id: world.service.project.projectId, actor: 'operator', subject: jobId },
        details: { task: 'broadcast_transaction', key: `broadcast:${transactionId}` },
      },
    ])
  })

  longTest('runs all failed jobs again, and audits those without a project for the deployment', async () => {
    const { output } = await world.cli('jobs', 'retry', '--failed')
    expect(
      output
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/\d+/, 'N'))
        .toSorted(),
    ).toEqual([
      'Job N (index_blocks) runs again now, if a worker runs.',
      'Job N (track_blocks) runs again now, if a worker runs.',
    ])
    const acts =
      await world.sql`select actor, details from audit where action = 'job_retried' and project_id is null order by id`
    expect(acts.map(({ actor, details }) => [actor, details.key]).toSorted()).toEqual([
      ['operator', 'index_blocks:Ethereum'],
      ['operator', 'track_blocks:Ethereum'],
    ])
    expect((await world.cli('jobs', 'retry', '--failed')).output).toBe('No job has failed.\n')
    await world.startWorker()
    expect((await world.service.settled(transactionId)).json).toMatchObject({ status: 'success' })
    expect(await world.cliJson('audit', 'verify')).toMatchObject({ ok: true })
  })
})
