import { createProject } from '../../src/operators/projects.ts'
import { startChain, type TestChain } from './chains.ts'
import { type Service, startService } from './service.ts'

const NOWHERE = 'http://127.0.0.1:1'

/** What ends with the process closes nothing. */
const withOwnProject = async (service: Service): Promise<Service> => {
  const project = await createProject(service.ctx, { name: 'Test', actor: 'operator' })
  return { ...service, ...service.as(project), project, close: async () => {} }
}

let starting: Promise<Service> | undefined

/**
 * A project of its own at a service that all files of this process share, since a start costs more than most tests.
 * Ethereum, Polygon and Base have a node that is away, other networks none; the service ends with the process. Files
 * that read rows of all projects, change rows that others need, rotate a key or verify the whole audit start a service
 * of their own.
 */
export const commonService = async (): Promise<Service> => {
  starting ??= startService({ rpcUrls: { Ethereum: NOWHERE, Polygon: NOWHERE, Base: NOWHERE } })
  return withOwnProject(await starting)
}

let startingWorld: Promise<{ readonly service: Service; readonly chain: TestChain }> | undefined

const startWorld = async () => {
  const chain = await startChain('Ethereum')
  return { chain, service: await startService({ rpcUrls: { Ethereum: chain.rpcUrl } }) }
}

/** Another such service, on an Ethereum chain that mines at once. Files that change how it mines start their own. */
export const commonWorld = async (): Promise<{ readonly service: Service; readonly chain: TestChain }> => {
  startingWorld ??= startWorld()
  const { service, chain } = await startingWorld
  return { chain, service: await withOwnProject(service) }
}
