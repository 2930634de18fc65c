import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { ApiClient } from '../client/api-client.js'
import { requireValid } from '../lab/documents/check.js'
import { requireSettings, type LabSettings } from '../lab/model/settings.js'
import { SETTINGS_OBJECT } from '../lab/topology/schema.js'

/** The default image, which `understudy image build` builds. */
export const DEFAULT_IMAGE = 'understudy'

/** The API port inside the container. */
export const API_PORT = 8200

const STARTUP_MS = 60_000

/**
 * A container with one unsealed server, in-memory storage and a root token, as `server -dev` starts it. `start` rejects
 * with the error of testcontainers, for example if the image does not exist.
 *
 * @example
 * import { UnderstudyContainer } from 'understudy-lab/testcontainers'
 *
 * await using server = await new UnderstudyContainer('understudy').withRootToken('root').start()
 * await server.client.write('secret/data/greeting', { data: { word: 'hello' } })
 */
export class UnderstudyContainer extends GenericContainer {
  #rootToken = 'root'

  constructor(image = DEFAULT_IMAGE) {
    super(image)
    this.withExposedPorts(API_PORT)
      .withCommand(['server', '-dev'])
      .withWaitStrategy(Wait.forHealthCheck())
      .withStartupTimeout(STARTUP_MS)
  }

  /** Sets the root token. Default: `root`. */
  withRootToken(token: string): this {
    this.#rootToken = token
    return this
  }

  /** Sets settings of the configuration stanza `understudy`. Throws LabError `usage` for an unknown setting. */
  withSettings(settings: LabSettings): this {
    requireValid('withSettings', SETTINGS_OBJECT, settings, 'settings')
    requireSettings(settings)
    const variables = Object.entries(settings).map(([name, value]) => [
      `UNDERSTUDY_${name.toUpperCase()}`,
      String(value),
    ])
    return this.withEnvironment(Object.fromEntries(variables) as Record<string, string>)
  }

  override async start(): Promise<StartedUnderstudyContainer> {
    this.withEnvironment({ VAULT_DEV_ROOT_TOKEN_ID: this.#rootToken })
    return new StartedUnderstudyContainer(await super.start(), this.#rootToken)
  }
}

/**
 * A running container with one server. `stop` stops and removes the container.
 *
 * @example
 * import { type StartedUnderstudyContainer, UnderstudyContainer } from 'understudy-lab/testcontainers'
 *
 * const server: StartedUnderstudyContainer = await new UnderstudyContainer().start()
 * console.log({ VAULT_ADDR: server.address, VAULT_TOKEN: server.rootToken })
 * await server.stop()
 */
export class StartedUnderstudyContainer extends AbstractStartedContainer {
  readonly rootToken: string
  /** A client with the root token. */
  readonly client: ApiClient

  constructor(started: StartedTestContainer, rootToken: string) {
    super(started)
    this.rootToken = rootToken
    this.client = new ApiClient({ address: this.address, token: rootToken })
  }

  /** The API address in the form `http://host:port`, which is the value for VAULT_ADDR. */
  get address(): string {
    return addressOf(this)
  }

  protected override async containerStopped(): Promise<void> {
    this.client.close()
  }
}

export const addressOf = (started: Pick<StartedTestContainer, 'getHost' | 'getMappedPort'>): string =>
  `http://${started.getHost()}:${started.getMappedPort(API_PORT)}`
