/// <reference types="node" preserve="true" />
/**
 * Test containers of the image, which require Docker: `UnderstudyContainer` is one server, `UnderstudyLab` a topology on one
 * network. Requires the package `testcontainers`.
 */
export { StartedUnderstudyContainer, UnderstudyContainer } from './understudy-container.js'
export {
  ContainerCluster,
  StartedUnderstudyLab,
  UnderstudyLab,
  type UnderstudyLabOptions,
} from './understudy-lab.js'
