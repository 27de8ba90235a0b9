import { Command } from 'commander'
import { migrate } from '../../db/migrate.ts'
import { readDatabaseUrl } from '../config.ts'
import { databaseSentenceOf } from '../environment/failure.ts'
import type { Shell } from './shell.ts'

export const databaseCommands = ({ variables, print }: Shell): Command => {
  const command = new Command('db').description('The database.')
  command
    .command('migrate')
    .description(
      'Migrate DATABASE_URL to the newest schema, with roles and grants. Needs a role that may create roles.',
    )
    .action(async () => {
      await migrate(readDatabaseUrl(variables).reveal()).catch((cause: unknown) => {
        throw new Error(databaseSentenceOf(cause), { cause })
      })
      print('The database has the newest schema.')
    })
  return command
}
