import { Command } from 'commander'
import { sumHoldings } from '../../../db/holdings.ts'
import { migrate } from '../../../db/migrate.ts'
import { type MigrationPlan, planMigration } from '../../../db/plan.ts'
import { readDatabaseUrl } from '../../platform/config.ts'
import { describeDatabaseFailure } from '../../platform/environment/failure.ts'
import { counted, table } from './arguments.ts'
import type { Shell } from './shell.ts'

const hasWork = ({ statements, outside, jobMigrations, objects }: MigrationPlan): boolean =>
  statements.length + outside.length + jobMigrations + objects.length > 0

const sqlOf = (statements: readonly string[]): readonly string[] =>
  statements.map((statement) => (statement.endsWith(';') ? statement : `${statement};`))

const scriptOf = ({ statements, outside, jobMigrations, objects }: MigrationPlan): readonly string[] => [
  ...(jobMigrations > 0
    ? [`-- ${counted(jobMigrations, 'migration')} of the job queue, each in a transaction of its own`]
    : []),
  ...(statements.length + objects.length > 0 ? ['-- in one transaction'] : []),
  ...sqlOf(statements),
  ...(objects.length > 0 ? [`-- made again: ${objects.join(', ')}`] : []),
  ...(outside.length > 0 ? ['-- one by one, without a transaction'] : []),
  ...sqlOf(outside),
]

/** What makes a migration slow, or keeps it from its locks. */
const hindrancesOf = ({ tables, open }: MigrationPlan): readonly string[] => [
  ...(tables.length === 0
    ? []
    : [
        'The tables that it names:',
        table([['TABLE', 'ROWS', 'SIZE'], ...tables.map(({ name, rows, size }) => [name, `about ${rows}`, size])]),
      ]),
  ...(open.length === 0
    ? []
    : [
        'Transactions that are open, and may hold a lock for which it would wait (at most 2 s, ten times):',
        table([
          ['PID', 'APPLICATION', 'OPEN FOR'],
          ...open.map(({ pid, application, seconds }) => [String(pid), application || '-', `${seconds} s`]),
        ]),
      ]),
]

export const databaseCommands = ({ variables, print, note, fail }: Shell): Command => {
  const command = new Command('db').description('The database.')
  const withUrl = async <Result>(work: (databaseUrl: string) => Promise<Result>): Promise<Result> =>
    work(readDatabaseUrl(variables).reveal()).catch((cause: unknown) => {
      throw new Error(describeDatabaseFailure(cause), { cause })
    })
  command
    .command('migrate')
    .description(
      'Migrate DATABASE_URL to the newest schema, with roles and grants. Needs a role that may create roles.',
    )
    .option('--dry-run', 'print what it would do as SQL, and change nothing')
    .action(async ({ dryRun }: { dryRun?: boolean }) => {
      if (!dryRun) {
        await withUrl((url) => migrate(url))
        return print('The database has the newest schema.')
      }
      const plan = await withUrl((url) => planMigration(url))
      if (!hasWork(plan)) return note('The database has the newest schema: there is nothing to do.')
      for (const line of scriptOf(plan)) print(line)
      for (const line of hindrancesOf(plan)) note(line)
    })
  command
    .command('check')
    .description(
      'Say whether the database has the schema of this version, and what a migration would wait for. Changes nothing; ends with 1 if db migrate is needed. Needs the role of db migrate.',
    )
    .action(async () => {
      const plan = await withUrl((url) => planMigration(url))
      const { statements, outside, jobMigrations, objects, invalidIndexes } = plan
      if (!hasWork(plan) && invalidIndexes.length === 0) return print('The database has the newest schema.')
      if (statements.length + outside.length > 0)
        print(`${counted(statements.length + outside.length, 'statement')} of the schema to run.`)
      if (jobMigrations > 0) print(`${counted(jobMigrations, 'migration')} of the job queue to run.`)
      if (objects.length > 0) print(`To be made again: ${objects.join(', ')}.`)
      for (const line of hindrancesOf(plan)) print(line)
      if (hasWork(plan)) print('Run "bun run cli db migrate"; with --dry-run it prints the statements.')
      for (const name of invalidIndexes) print(`An index was not finished. Run: reindex index concurrently ${name};`)
      fail()
    })
  command
    .command('sum-holdings')
    .description('Sum the NFTs that wallets hold anew, from all movements. Needs the role of db migrate.')
    .action(async () => {
      for (const { network, mended } of await withUrl(sumHoldings)) print(`${network}: ${mended} rows were wrong.`)
    })
  return command
}
