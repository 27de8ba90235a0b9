import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { API_ROLE, WORKER_ROLE } from '../db/grants.ts'
import { migrate } from '../db/migrate.ts'

/** One database, as three users reach it. */
export type DevDatabase = { readonly ownerUrl: string; readonly apiUrl: string; readonly workerUrl: string }

const DATABASE = 'strongroom'

/** Makes the database and brings it to the newest schema; makes the users that the API and the worker log in as. */
export const prepareDatabase = async (superuserUrl: string): Promise<DevDatabase> => {
  const urlOf = (user?: { readonly name: string; readonly password: string }): string => {
    const url = new URL(superuserUrl)
    url.pathname = `/${DATABASE}`
    if (user !== undefined) [url.username, url.password] = [user.name, user.password]
    return url.href
  }

  const sql = postgres(superuserUrl, { max: 1, onnotice: () => {} })
  try {
    const [existing] = await sql`select from pg_database where datname = ${DATABASE}`
    if (existing === undefined) await sql`create database ${sql(DATABASE)}`
    await migrate(urlOf())
    const makeLogin = async (name: string, role: string): Promise<string> => {
      // A password that lives as long as the stack needs no place where it is kept.
      const password = randomBytes(24).toString('hex')
      const [known] = await sql`select from pg_roles where rolname = ${name}`
      if (known === undefined) await sql`create role ${sql(name)} login in role ${sql(role)}`
      await sql.unsafe(`alter role ${name} password '${password}'`)
      return urlOf({ name, password })
    }
    return {
      ownerUrl: urlOf(),
      apiUrl: await makeLogin('strongroom_dev_api', API_ROLE),
      workerUrl: await makeLogin('strongroom_dev_worker', WORKER_ROLE),
    }
  } finally {
    await sql.end()
  }
}
