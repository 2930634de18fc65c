/// <reference types="node" preserve="true" />
/**
 * Containers of the image for tests that have Docker: `UnderstudyContainer` is one server, `UnderstudyLab` a topology on one
 * network. The package `testcontainers` is to be installed beside this one.
 */
export { StartedUnderstudyContainer, UnderstudyContainer } from './understudy-container.js'
export {
  ContainerCluster,
  StartedUnderstudyLab,
  UnderstudyLab,
  type UnderstudyLabOptions,
} from './understudy-lab.js'
