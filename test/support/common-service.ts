import { createProject } from '../../src/operators/projects.ts'
import { type Service, startService } from './service.ts'

const NOWHERE = 'http://127.0.0.1:1'

let starting: Promise<Service> | undefined

/**
 * A project of its own at a service that all files of this process share, since a start costs more than most tests.
 * No network has a node, and the service ends with the process. Files that read rows of all projects, change rows that
 * others need, rotate a key or verify the whole audit start a service of their own.
 */
export const commonService = async (): Promise<Service> => {
  starting ??= startService({
    rpcUrls: { Ethereum: NOWHERE, Polygon: NOWHERE, Base: NOWHERE, Polkadot: NOWHERE, Vara: NOWHERE },
  })
  const service = await starting
  const project = await createProject(service.ctx, { name: 'Test', actor: 'operator' })
  return { ...service, ...service.as(project), project, close: async () => {} }
}
