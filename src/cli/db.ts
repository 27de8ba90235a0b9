import { Command } from 'commander'
import { sumHoldings } from '../../db/holdings.ts'
import { migrate } from '../../db/migrate.ts'
import { readDatabaseUrl } from '../config.ts'
import { databaseSentenceOf } from '../environment/failure.ts'
import type { Shell } from './shell.ts'

export const databaseCommands = ({ variables, print }: Shell): Command => {
  const command = new Command('db').description('The database.')
  const withUrl = async <Result>(work: (databaseUrl: string) => Promise<Result>): Promise<Result> =>
    work(readDatabaseUrl(variables).reveal()).catch((cause: unknown) => {
      throw new Error(databaseSentenceOf(cause), { cause })
    })
  command
    .command('migrate')
    .description(
      'Migrate DATABASE_URL to the newest schema, with roles and grants. Needs a role that may create roles.',
    )
    .action(async () => {
      await withUrl(migrate)
      print('The database has the newest schema.')
    })
  command
    .command('sum-holdings')
    .description('Sum the NFTs that wallets hold anew, from all movements. Needs the role of db migrate.')
    .action(async () => {
      for (const { network, mended } of await withUrl(sumHoldings)) print(`${network}: ${mended} rows were wrong.`)
    })
  return command
}
