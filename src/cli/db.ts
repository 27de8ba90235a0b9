import { Command } from 'commander'
import { migrate } from '../../db/migrate.ts'
import { readDatabaseUrl } from '../config.ts'
import { print } from './operator.ts'

export const databaseCommands = (): Command => {
  const command = new Command('db').description('The database.')
  command
    .command('migrate')
    .description('Bring DATABASE_URL to the newest schema, with roles and grants; needs a role that may create roles.')
    .action(async () => {
      await migrate(readDatabaseUrl().reveal())
      print('The database is at the newest schema.')
    })
  return command
}
