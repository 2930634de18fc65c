/// <reference types="node" preserve="true" />
/**
 * Test containers of the image, which require Docker: `UnderstudyContainer` is one server, `UnderstudyLab` a topology on one
 * network. Requires the package `testcontainers`.
 */
export { ContainerCluster } from './container-cluster.js'
export { type ContainerFaultOptions, ContainerLink } from './container-link.js'
export { StartedUnderstudyContainer, UnderstudyContainer } from './understudy-container.js'
export { StartedUnderstudyLab, UnderstudyLab, type UnderstudyLabOptions } from './understudy-lab.js'
