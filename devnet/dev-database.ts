import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { API_ROLE, CONSOLE_ROLE, VAULT_ROLE, WORKER_ROLE } from '../db/grants.ts'
import { migrate } from '../db/migrate.ts'

/** The database's URLs for its users. */
export type DevDatabase = {
  readonly ownerUrl: string
  readonly apiUrl: string
  readonly vaultUrl: string
  readonly workerUrl: string
  readonly consoleUrl: string
}

const DATABASE = 'strongroom'

/** Creates and migrates the database, and creates the users of the processes. */
export const prepareDatabase = async (superuserUrl: string): Promise<DevDatabase> => {
  const urlOf = (user?: { readonly name: string; readonly password: string }): string => {
    const url = new URL(superuserUrl)
    url.pathname = `/${DATABASE}`
    if (user !== undefined) [url.username, url.password] = [user.name, user.password]
    return url.href
  }

  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  const has = async (table: 'pg_database' | 'pg_roles', column: string, name: string): Promise<boolean> =>
    (await client.query(`select from ${table} where ${column} = $1`, [name])).rowCount !== 0
  try {
    if (!(await has('pg_database', 'datname', DATABASE))) await client.query(`create database ${DATABASE}`)
    await migrate(urlOf())
    const makeLogin = async (name: string, role: string): Promise<string> => {
      // The password lives as long as the stack, so it is stored nowhere.
      const password = randomBytes(24).toString('hex')
      if (!(await has('pg_roles', 'rolname', name))) await client.query(`create role ${name} login in role ${role}`)
      await client.query(`alter role ${name} password '${password}'`)
      return urlOf({ name, password })
    }
    return {
      ownerUrl: urlOf(),
      apiUrl: await makeLogin('strongroom_dev_api', API_ROLE),
      vaultUrl: await makeLogin('strongroom_dev_vault', VAULT_ROLE),
      workerUrl: await makeLogin('strongroom_dev_worker', WORKER_ROLE),
      consoleUrl: await makeLogin('strongroom_dev_console', CONSOLE_ROLE),
    }
  } finally {
    await client.end()
  }
}
